//! Linker arguments of an extension module; only macOS needs any.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
