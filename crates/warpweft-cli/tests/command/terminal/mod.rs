//! What users type, what they read, and the files that they give and get.

mod bad_input;
mod files;
mod info;
mod lab;
mod numbers;
mod speech;
