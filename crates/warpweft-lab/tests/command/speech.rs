//! Help, refusals, completions and the manual of the lab.

use super::warpweft;

#[test]
fn every_subcommand_has_help_with_examples() {
    for line in ["--help", "bench stencil --help", "bench channels --help", "verify --help"] {
        let help = warpweft(line).fine();
        assert!(help.contains("Usage: warpweft ") && help.contains("Example"), "{line}: {help}");
    }
}

#[test]
fn unknown_words_are_answered_with_the_known_ones() {
    warpweft("bench channels --only tpu").fails(2, &["tpu", "cpu, gpu"]);
    warpweft("bench channels --repeats 0").fails(2, &["--repeats"]);
    warpweft("bench foo").fails(2, &["stencil, ", "wavefront"]);
    warpweft("verify stencils").fails(2, &["stencil, wavefront, farm, channels"]);
}

#[test]
fn shells_get_completions_and_man_gets_a_page() {
    for shell in ["bash", "zsh", "fish"] {
        let script = warpweft(&format!("completions {shell}")).fine();
        assert!(script.contains("warpweft-lab") && script.contains("wavefront"), "{shell}");
    }
    let page = warpweft("man").fine();
    assert_eq!(page.matches(".TH ").count(), 1, "one page");
    assert!(page.contains(".SH EXAMPLES") && page.contains("bench wavefront"), "{page}");
}
