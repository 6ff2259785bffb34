//! Says `cfg(loom)` to this crate alone, so that nothing else is built a second time for it.

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
}
