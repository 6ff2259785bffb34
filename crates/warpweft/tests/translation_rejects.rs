//! What is outside the subset is an error on its span that says what to write instead.

#[test]
fn each_rejection_says_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
