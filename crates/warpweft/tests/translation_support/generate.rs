//! Random functions of the subset.
