//! The ways that halos may take from rank to rank, and which of them were taken.

use std::fmt;

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How a halo travels between ranks. Changes time, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// They are in the host's memory as it is: ranks on the cores.
    Host,
    /// By the device itself, straight into the neighbour device's memory: CUDA IPC between processes,
    /// addresses between threads of one.
    Ipc,
    /// By a transport that takes device memory, out of and into that.
    CudaAware,
    /// Through page-locked memory of the host.
    Staged,
}

const ALL: [(Route, &str); 4] = [
    (Route::Host, "host"),
    (Route::Ipc, "ipc"),
    (Route::CudaAware, "cuda-aware"),
    (Route::Staged, "staged"),
];
/// Forces a route where [`crate::Settings::halos`] does not.
const VARIABLE: &str = "WARPWEFT_HALOS";

impl Route {
    /// The route that the environment forces, if it does.
    ///
    /// # Errors
    /// A value that is none.
    pub(crate) fn forced() -> Result<Option<Self>> {
        match std::env::var(VARIABLE) {
            Ok(value) if !value.is_empty() => Self::named(&value).map(Some),
            _ => Ok(None),
        }
    }

    fn named(name: &str) -> Result<Self> {
        let found = ALL[1..].iter().find(|(_, known)| *known == name);
        found.map(|(route, _)| *route).ok_or_else(|| {
            Error::spec(
                format!("{VARIABLE}={name}"),
                "set it to ipc, cuda-aware or staged, or leave it out",
            )
        })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ALL.iter().find(|(route, _)| route == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// Several routes, e.g. those of a rank with neighbours here and elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routes(u8);

impl Routes {
    /// These and `route`.
    #[must_use]
    pub fn and(self, route: Route) -> Self {
        Self(self.0 | 1 << (route as u8))
    }

    /// These and `others`.
    #[must_use]
    pub fn joined(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether `route` is one of them.
    pub fn contains(self, route: Route) -> bool {
        self.0 & 1 << (route as u8) != 0
    }
}

impl From<Route> for Routes {
    fn from(route: Route) -> Self {
        Self::default().and(route)
    }
}

/// Joined by "+", e.g. "ipc+staged"; "none" where nothing travels.
impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ALL.iter().filter(|(route, _)| self.contains(*route)).map(|(_, name)| *name);
        let names = names.collect::<Vec<_>>().join("+");
        f.write_str(if names.is_empty() { "none" } else { &names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_told_by_the_names_that_force_them() {
        for (route, name) in &ALL[1..] {
            assert_eq!(Route::named(name).unwrap(), *route);
            assert_eq!(Routes::from(*route).to_string(), *name);
        }
        let both = Routes::from(Route::Staged).joined(Route::Ipc.into());
        assert_eq!(both.to_string(), "ipc+staged");
        assert_eq!(Routes::default().to_string(), "none");
        let error = Route::named("pigeon").unwrap_err().to_string();
        assert!(error.contains("WARPWEFT_HALOS=pigeon") && error.contains("cuda-aware"), "{error}");
    }
}
