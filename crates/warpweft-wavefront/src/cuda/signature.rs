//! What kernels take, listed once: the list writes the C++ declaration and the launch arguments.
//!
//! Two lists a kernel: the members of its struct of arguments ([`arguments!`](crate::cuda::signature)),
//! and its parameters ([`Parameter`]), of which that struct is the first. Not here: what the arguments
//! mean, see the struct that each kernel's text declares.

use crate::spec::ElementType;
use warpweft_core::cuda::{Args, Watchdog};
use warpweft_core::error::Result;

/// Declares a struct of kernel arguments: in Rust, which fills it, and in C++ (`declaration`), which
/// reads it. `member: rust_type = "C++ type"`.
macro_rules! arguments {
    (
        $(#[$meta:meta])*
        pub(super) struct $name:ident = $cpp:literal {
            $($(#[$doc:meta])* $member:ident: $rust:ty = $type:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        #[repr(C)]
        pub(super) struct $name {
            $($(#[$doc])* pub $member: $rust,)*
        }

        impl $name {
            /// The same struct in C++, with a check that its size is the same.
            pub fn declaration() -> String {
                let members = [$(concat!("  ", $type, " ", stringify!($member), ";\n")),*];
                format!(
                    "struct {cpp} {{\n{}}};\nstatic_assert(sizeof({cpp}) == {}, \"the host has the \
                     same layout\");\n",
                    members.concat(),
                    size_of::<Self>(),
                    cpp = $cpp
                )
            }
        }
    };
}
pub(crate) use arguments;

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// The kernel's struct of arguments.
    Arguments,
    /// What ends waits that take too long.
    Watchdog,
    /// Two cells: those outside the domain.
    Edges,
    /// The element.
    Element,
    /// The function that tells a cell's choice.
    Choice,
}
use Parameter::{Arguments, Choice, Edges, Element};

/// Of a kernel whose blocks do not wait for one another and whose elements lie in memory.
pub(super) const ALONE: &[Parameter] = &[Arguments];
/// Of a kernel whose blocks wait for one another.
pub(super) const WAITING: &[Parameter] = &[Arguments, Parameter::Watchdog, Edges, Element];
/// The same, of a kernel that records choices.
pub(super) const RECORDING: &[Parameter] =
    &[Arguments, Parameter::Watchdog, Edges, Element, Choice];

/// The line that declares `parameters` in C++: a kernel is declared as `kernel(WW_PARAMETERS)`.
pub(super) fn declaration(parameters: &[Parameter]) -> String {
    let each: Vec<_> = parameters
        .iter()
        .map(|parameter| match parameter {
            Arguments => "const __grid_constant__ ww_arguments A",
            Parameter::Watchdog => "const __grid_constant__ ww_watchdog dog",
            Edges => "const __grid_constant__ ww_edges edges",
            Element => "const __grid_constant__ ww_element f",
            Choice => "const __grid_constant__ ww_choice choice",
        })
        .collect();
    format!("#define WW_PARAMETERS {}\n", each.join(", "))
}

/// What a launch gives for the parameters.
pub(super) struct Values<'v> {
    /// The struct of arguments and its alignment.
    pub arguments: (&'v [u8], usize),
    pub watchdog: Option<&'v Watchdog>,
    pub edges: &'v [u8],
    /// The element's own bytes.
    pub element: &'v [u8],
    /// The function that tells choices and its alignment.
    pub choice: Option<(&'v [u8], usize)>,
}

impl Values<'_> {
    /// The launch arguments, one for each of `parameters` of a kernel of `element`.
    ///
    /// # Errors
    /// The watchdog's.
    pub fn launch(&self, parameters: &[Parameter], element: &ElementType) -> Result<Args> {
        let mut args = Args::new();
        for parameter in parameters {
            let _index: usize = match (parameter, self.watchdog, self.choice) {
                (Arguments, ..) => args.blob(self.arguments.0, self.arguments.1),
                (Parameter::Watchdog, Some(watchdog), _) => watchdog.argument(&mut args)?,
                (Edges, ..) => args.blob(self.edges, element.cell_align),
                (Element, ..) => args.blob(self.element, element.align),
                (Choice, _, Some((choice, align))) => args.blob(choice, align),
                (Parameter::Watchdog, None, _) | (Choice, _, None) => {
                    return Err(warpweft_core::error::Error::spec(
                        format!("a launch without its {parameter:?}"),
                        "report this as a bug",
                    ));
                }
            };
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    arguments! {
        /// Members of three sizes.
        pub(super) struct Sample = "ww_sample" {
            cells: u64 = "const ww_cell*",
            count: i32 = "int",
            seed: u32 = "unsigned",
        }
    }

    #[test]
    fn the_declaration_has_the_members_in_order() {
        assert_eq!(
            Sample::declaration(),
            "struct ww_sample {\n  const ww_cell* cells;\n  int count;\n  unsigned seed;\n};\n\
             static_assert(sizeof(ww_sample) == 16, \"the host has the same layout\");\n"
        );
    }

    #[test]
    fn a_kernel_declares_as_many_parameters_as_a_launch_gives() {
        for parameters in [ALONE, WAITING, RECORDING] {
            assert_eq!(declaration(parameters).matches("const ").count(), parameters.len());
        }
    }
}
