//! Tells the code whether it is optimised: loops over cells that the compiler leaves alone are compiled once.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(unoptimised)");
    // Cargo sets it for the profile at hand; at 1 nothing is vectorised either.
    if std::env::var("OPT_LEVEL").is_ok_and(|level| matches!(level.as_str(), "0" | "1")) {
        println!("cargo::rustc-cfg=unoptimised");
    }
}
