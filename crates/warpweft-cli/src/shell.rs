//! `warpweft completions` and `warpweft man`: the command describing itself.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::output;

/// Which shell to complete in.
#[derive(clap::Args)]
#[command(after_help = "Example:
  warpweft completions bash > ~/.local/share/bash-completion/completions/warpweft")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn execute(&self, mut command: clap::Command) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "warpweft", &mut script);
        output::say(String::from_utf8_lossy(&script).trim_end())
    }
}

/// Prints the manual page, the pages of all subcommands after one another.
pub fn man(mut command: clap::Command) -> ExitCode {
    command.build();
    let mut page = Vec::new();
    match render(&command, &mut page) {
        Ok(()) => output::say(String::from_utf8_lossy(&page).trim_end()),
        Err(error) => {
            output::complain(&format!("writing the manual: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn render(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        render(sub, page)?;
    }
    Ok(())
}
