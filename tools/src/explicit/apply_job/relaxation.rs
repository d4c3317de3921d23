//! `[relaxation]`: the mechanisms of the materials that have attenuation.

use pogo_formats::explicit::Setup;
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::job::JobError;

use crate::prepare::Remarks;

/// Gives a setup the job's relaxation, and says how well each material that is used meets its target.
///
/// # Errors
/// [`JobError`] at a material whose attenuation cannot be met, or has no `[relaxation]`.
pub(super) fn relaxation(setup: &mut Setup, job: &ExplicitJob, remarks: &mut Remarks) -> Result<(), JobError> {
    setup.relaxation = job.relaxation.as_ref().map(|item| item.value.setting());
    let mut n_fitted = 0;
    for item in &job.materials {
        let same = |name: &str| name.eq_ignore_ascii_case(&item.value.name);
        // Materials that no section uses are not in the setup.
        let Some(material) = setup.materials.iter().find(|material| same(&material.name)) else { continue };
        let fit = setup
            .relaxation_of(material)
            .map_err(|text| item.place.error(format!("material {}: {text}", material.name)))?;
        if let (Some(fit), Some(relaxation)) = (fit, &setup.relaxation) {
            n_fitted += 1;
            let words = fit.words(&material.name, relaxation);
            if fit.is_rough() { remarks.warn(&item.place, words) } else { remarks.note(&item.place, words) }
        }
    }
    if let (Some(item), 0) = (&job.relaxation, n_fitted) {
        let text = "no material that is used has `quality_factor` or `attenuation`: [relaxation] has no effect";
        remarks.warn(&item.place, text);
    }
    Ok(())
}
