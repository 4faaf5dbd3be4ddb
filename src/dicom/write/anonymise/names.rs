//! Names of structures: those that are made of the field's own words alone say nothing of a patient.

/// Words of structure names: targets, organs, sides and qualifiers, as AAPM TG-263 composes names of them, and the plain
/// words of planning. In lower case; a plural or a compound is a separate word.
const KNOWN: &str = "a ac anal ant anterior aorta aperture arm arteria artery atrium avoid avoidance axilla bag base bladder bladderneck \
body bolus bone bones boost bowel brachial brachialplex brain brainstem breast breasts bronchus bronchustree bronchi buccal \
caecum canal carina carotid cartilage cauda cavity cavernosum cerebellum cerebrum cervix chestwall chest chiasm choroid clavicle cm cochlea \
colon cord cornea couch crico cricoid cricopharyngeus ctv ctvn ctvp cyst dist distal dose duodenum ear edge elbow elektra esophagus \
ethmoid external eval eve eye eyes eyeball face femoral femur femurs femoralhead femoralheads femurhead fiducial gallbladder genitals \
gland glands globe globes glottis gtv gtvn gtvp gy cgy head heads heart heartmuscle help high hippocampi hippocampus humerus hypothalamus \
hypopharynx igtv ileum ilium inf inferior inner inside internal intestine itv itvn itvp jaw jejunum joint kidney kidneys l lacrimal lad large \
larynx lat lateral left lens lenses ling lingual lips lip liver lobe loop low lower lumpectomy lung lungs lymph machine main mandible \
marker mastoid maxilla medium meninges mid mm mouth muscle musc myocardium nasal nasopharynx neck nerve nipple node nodes normal nose \
oar oars oesophagus optic opt opticchiasm opticnerve opticnrv oral oralcavity orbit organ out outer outline ovary ovaries pacemaker palate \
pancreas parotid parotids patient pelvis penile penilebulb penis pericardium phantom pharynx pit pituitary plexus planning post posterior \
prostate prostatebed proximal prox prv ptv ptvn ptvp pubis pulmonary r rectum rectal region renal retina rib ribs right ring roi sacrum \
sbrt scar sclera scrotum seminal seminalves shell shoulder sib sigmoid sinus skin skull small soft spare spc sphincter spinal spinalcord spine \
spleen sternum stomach structure sub subclavian submandibular sup superior support surface surgical surrounding table target temporal \
test testes testis thalamus thecal thigh thoracic thorax thyroid tissue tm tmj tongue tonsil total trachea tumor tumour tumorbed bed unspecified \
upper ureter ureters urethra uterus vagina valve vena cava ventricle ventricles vertebra vertebrae vertebral vessel vessels vocal volume \
vulva wall water whole with without x y z minus plus and or of in not no sum";

/// The name where it is made of known words and short numbers; `None` where it must be replaced.
pub fn cleaned_name(name: &str) -> Option<String> {
    let mut parts = Vec::new();
    let mut word = String::new();
    let mut previous = ' ';
    for c in name.chars() {
        // Words end where letters and digits meet, and before a capital after a small letter.
        let ends = !c.is_alphanumeric()
            || c.is_numeric() != previous.is_numeric()
            || (c.is_uppercase() && previous.is_lowercase());
        if ends && !word.is_empty() {
            parts.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous = c;
    }
    if !word.is_empty() {
        parts.push(word);
    }
    (!parts.is_empty()
        && parts.iter().all(|part: &String| match part.parse::<u32>() {
            // A year may be one of birth; doses in cGy end in zeros.
            Ok(number) => part.len() <= 4 && (!(1900..2100).contains(&number) || number % 100 == 0),
            Err(_) => part.len() == 1 || KNOWN.split_whitespace().any(|word| word == part),
        }))
    .then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_field_stay_and_others_go() {
        for name in [
            "PTV",
            "PTV_6600",
            "Lung_L",
            "Lung-Right",
            "LungLeft",
            "SpinalCord",
            "spinal cord",
            "GTV-1",
            "Body",
            "CTVn1",
            "PTV 50.4Gy",
        ] {
            assert_eq!(cleaned_name(name).as_deref(), Some(name));
        }
        for name in [
            "Smith",
            "PTV Smith",
            "PTV_1985",
            "GTV 12345678",
            "",
            "--",
            "lésion",
            "Herz",
            "Dr Who",
        ] {
            assert_eq!(cleaned_name(name), None, "{name}");
        }
    }
}
