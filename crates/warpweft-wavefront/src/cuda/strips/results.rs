//! What a run leaves on the GPUs, brought to the host.

use super::subdomain::Subdomain;
use crate::cuda::filled::Found;
use crate::policy::CudaPolicy;
use crate::spec::Erased;
use warpweft_core::error::Result;

/// The winners or sums of all warps of all subdomains.
pub(super) fn found(policy: &CudaPolicy, subdomains: &[Subdomain<'_>]) -> Result<Found> {
    let mut found = Vec::new();
    for subdomain in subdomains {
        let mut own = vec![[0u64; 3]; subdomain.assignment.blocks * policy.warps as usize];
        subdomain.gpu.stream.download(&subdomain.candidates, 0, &mut own)?;
        found.extend(own);
    }
    Ok(found)
}

/// The last row, which ends as the border of the tile-row that would come next.
pub(super) fn last_row(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    subdomains: &[Subdomain<'_>],
    cells: &mut [u8],
) -> Result<()> {
    let last = wavefront.extents[0].div_ceil(policy.tile_rows()) - 1;
    match subdomains.iter().find(|subdomain| subdomain.assignment.has(last)) {
        Some(subdomain) => subdomain.gpu.stream.download(&subdomain.border, 0, cells),
        None => Ok(()),
    }
}

/// What is kept of every row, in order, each from the GPU that computed it.
pub(super) fn gather(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    subdomains: &[Subdomain<'_>],
    cells: &mut [u8],
) -> Result<()> {
    let rows = wavefront.extents[0];
    let wide = cells.len() / rows;
    for subdomain in subdomains {
        let mut before = 0;
        for range in subdomain.assignment.rows(policy.tile_rows(), rows) {
            let to = &mut cells[range.start * wide..range.end * wide];
            let bytes = to.len();
            subdomain.gpu.stream.download(&subdomain.kept, before, to)?;
            before += bytes;
        }
    }
    Ok(())
}
