//! Help, completions and the manual: the command describes itself.

use crate::warpweft;

#[test]
fn every_subcommand_has_help_with_examples() {
    for line in [
        "--help",
        "run heat --help",
        "run life --help",
        "run life3d --help",
        "info --help",
        "tune heat --help",
        "apsp --help",
        "completions --help",
    ] {
        let help = warpweft(line).fine();
        assert!(help.contains("Usage:") && help.contains("Example"), "{line}: {help}");
    }
}

#[test]
fn help_tells_the_defaults() {
    for (line, size, steps) in [
        ("heat", "256x256x256", "200"),
        ("life", "1024x1024", "500"),
        ("life3d", "128x128x128", "100"),
        ("seismic", "96x96x96", "100"),
        ("himeno", "that of --class", "100"),
    ] {
        let help = warpweft(&format!("run {line} --help")).fine();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(&format!("[default: {size}")), "{line}: {help}");
        assert!(help.contains(&format!("Number of steps [default: {steps}]")), "{line}: {help}");
    }
    // What tuning lacks it does not speak of.
    for app in ["heat", "life", "seismic"] {
        let help = warpweft(&format!("tune {app} --help")).fine();
        assert!(!help.contains("what --size or --input"), "{help}");
    }
    let help = warpweft("--help").fine();
    assert!(help.contains("Environment:") && help.contains("WARPWEFT_NVRTC"), "{help}");
}

#[test]
fn no_arguments_show_help_and_fail() {
    let help = warpweft("--help").fine();
    assert!(help.contains("Exit status:") && help.contains("130"), "{help}");
    for line in ["", "run"] {
        let ran = warpweft(line);
        assert_eq!(ran.status, Some(2));
        assert!(ran.err.contains("Usage:"), "{}", ran.err);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn help_that_can_t_be_printed_is_an_error() {
    for line in ["--help", "run heat --help", "--version", "man"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut command = crate::command(directory.path());
        let ran = crate::Ran::of(command.args(line.split_whitespace()).stdout(full));
        ran.fails(1, &["standard output", "No space left"]);
    }
}

#[test]
fn shells_get_completions_and_man_gets_a_page() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(warpweft(&format!("completions {shell}")).fine().contains("life3d"), "{shell}");
    }
    let page = warpweft("man").fine();
    assert!(page.starts_with(".ie") || page.starts_with(".TH"), "{page}");
    assert_eq!(page.matches(".TH ").count(), 1, "one page");
    for part in [
        ".SH EXAMPLES",
        ".SH ENVIRONMENT",
        ".SH EXIT STATUS",
        "boundary",
        "ended by Ctrl",
        "run heat",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}
