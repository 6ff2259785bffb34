//! `completions` and `man`: a program describes itself.

use std::io::Write;
use std::process::ExitCode;

use clap_complete::Shell;
use clap_mangen::Man;

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
    /// Prints the script for `command`, called `program`.
    pub fn execute(&self, mut command: clap::Command, program: &str) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, program, &mut script);
        output::say(String::from_utf8_lossy(&script).trim_end())
    }
}

/// Prints the manual page: the command, then every subcommand in a section of its own.
pub fn man(mut command: clap::Command) -> ExitCode {
    command.build();
    let mut page = Vec::new();
    let written = Man::new(command.clone())
        .render_title(&mut page)
        .and_then(|()| sections(&command, &mut page));
    match written {
        Ok(()) => output::say(String::from_utf8_lossy(&page).trim_end()),
        Err(error) => {
            output::complain(&format!("writing the manual: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn sections(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let man = Man::new(command.clone());
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(page)?;
    }
    if let Some(rest) = command.get_after_help() {
        after(&rest.to_string(), page)?;
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        sections(sub, page)?;
    }
    Ok(())
}

/// Help texts after the options: a line that ends in a colon becomes a heading, indented lines stay
/// unchanged.
fn after(text: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut literal = false;
    let mut headed = false;
    for line in text.lines() {
        let indented = line.starts_with("  ");
        if indented != literal {
            writeln!(page, "{}", if indented { ".nf" } else { ".fi" })?;
            literal = indented;
        }
        // Roff would read these as commands and hyphens.
        let told = line.trim().replace('\\', "\\e").replace('-', "\\-");
        match line.strip_suffix(':') {
            Some(heading) if !indented => writeln!(page, ".SH {}", plural(heading).to_uppercase())?,
            _ if line.is_empty() => writeln!(page, ".PP")?,
            _ if !headed && !indented => writeln!(page, ".SH NOTES\n\\&{told}")?,
            _ => writeln!(page, "\\&{told}")?,
        }
        headed |= !line.is_empty();
    }
    if literal {
        writeln!(page, ".fi")?;
    }
    Ok(())
}

/// The heading as manuals write it: `EXAMPLES`.
fn plural(heading: &str) -> &str {
    if heading == "Example" { "Examples" } else { heading }
}
