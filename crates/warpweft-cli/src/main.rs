//! The program `warpweft`: the command of the crate's library.

fn main() -> std::process::ExitCode {
    warpweft_cli::main()
}
