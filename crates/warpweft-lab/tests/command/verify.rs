//! `warpweft verify`: samples within a time, and its totals.

use super::warpweft;

/// Passed, failed and skipped of the last line.
fn totals(text: &str) -> [u64; 3] {
    let last = text.trim_end().lines().last().unwrap_or_default();
    let counts: Vec<u64> =
        last.split(", ").filter_map(|part| part.split(' ').next()?.parse().ok()).collect();
    counts.try_into().unwrap_or_else(|_| panic!("{last}"))
}

#[test]
fn a_sample_of_every_suite_fits_into_its_time_and_says_how_many_of_how_many_it_ran() {
    let begin = std::time::Instant::now();
    let text = warpweft("verify --seconds 4 --seed 7").fine();
    // Other tests and compilers share the cores.
    assert!(begin.elapsed().as_secs() < 60, "{text}");
    let [passed, failed, _] = totals(&text);
    assert!(failed == 0 && passed > 0, "{text}");
    for suite in ["stencil on", "wavefront on", "farm on", "channels on"] {
        assert!(text.contains(suite), "{suite}: {text}");
    }
    let ran: Vec<&str> = text.lines().filter(|line| line.starts_with("  ran ")).collect();
    assert!(ran.len() >= 5 && ran.iter().all(|line| line.ends_with("cases (seed 7)")), "{text}");
    let numbers = |line: &str| -> Vec<u64> {
        let words = line.split(' ').map(|word| word.replace(',', ""));
        words.filter_map(|word| word.parse().ok()).collect()
    };
    for line in ran {
        let [ran, of] = numbers(line)[..2] else { panic!("{line}") };
        assert!(1 <= ran && ran <= of, "{line}");
    }
}

#[test]
fn all_runs_every_case() {
    let text = warpweft("verify channels --all --verbose").fine();
    assert!(text.contains("  ran 12 of 12 cases\n"), "{text}");
    assert!(
        text.contains("channel-flow graphs on") && text.contains("  ran 25 of 25 cases\n"),
        "{text}"
    );
    let [passed, failed, _] = totals(&text);
    assert!(passed >= 49 && failed == 0, "{text}");
}

#[test]
fn a_seed_has_the_same_first_cases_again() {
    let first = || {
        let text = warpweft("verify stencil --seconds 0 --seed 7 --verbose").fine();
        text.lines().find(|line| line.starts_with("  passed ")).map(String::from)
    };
    assert_eq!(first(), first());
    assert!(first().is_some());
}
