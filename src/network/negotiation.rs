//! Proposal and acceptance when an association begins (PS3.7 annex D, PS3.8 9.3).

use super::association::{Call, Context};
use super::{AeTitle, NetworkError};
use dicom::SYNTAXES;
use dicom_dictionary_std::uids;
use dicom_ul::pdu::{
    AssociationRJ, AssociationRJResult, AssociationRJServiceProviderPresentationReason,
    AssociationRJServiceUserReason, AssociationRJSource, AssociationRQ, Pdu,
    PresentationContextProposed, PresentationContextResult, PresentationContextResultReason,
    RequestorRoles, UserVariableItem,
};
use dicom_ul::{IMPLEMENTATION_CLASS_UID, IMPLEMENTATION_VERSION_NAME};
use input::{PDU_BYTES, plain};

pub const APPLICATION_CONTEXT: &str = "1.2.840.10008.3.1.1.1";
/// Storage SOP classes of the standard, all with one root (PS3.6 annex A).
const STORAGE_ROOT: &str = "1.2.840.10008.5.1.4.1.1.";

/// A context that is proposed.
pub struct Proposal {
    pub class: String,
    pub syntaxes: Vec<String>,
    /// The peer is to send objects of this class to us (C-GET).
    pub to_us: bool,
}

/// Titles that a listener lets in, and its places.
pub struct Policy<'a> {
    pub ae: &'a AeTitle,
    /// Titles that may call; empty: any.
    pub allow: &'a [AeTitle],
    /// Takes one of the places for associations; `false` where none is left.
    pub enter: &'a dyn Fn() -> bool,
}

/// Answers to the contexts that are proposed, and those that are accepted: verification and storage, each in the plainest of its
/// syntaxes.
pub fn answer_contexts(
    proposed: &[PresentationContextProposed],
) -> (Vec<PresentationContextResult>, Vec<Context>) {
    let mut accepted = Vec::new();
    let results = proposed
        .iter()
        .map(|one| answer_context(one, &mut accepted))
        .collect();
    (results, accepted)
}

fn answer_context(
    proposed: &PresentationContextProposed,
    accepted: &mut Vec<Context>,
) -> PresentationContextResult {
    use PresentationContextResultReason::{
        AbstractSyntaxNotSupported, Acceptance, NoReason, TransferSyntaxesNotSupported,
    };
    let class = proposed.abstract_syntax.trim_end_matches('\0').trim();
    let syntax = SYNTAXES.iter().copied().find(|syntax| {
        proposed
            .transfer_syntaxes
            .iter()
            .any(|s| s.trim_end_matches('\0').trim() == *syntax)
    });
    let is_accepted = accepted.iter().any(|context| context.id == proposed.id);
    let reason = match syntax {
        _ if is_accepted || proposed.id.is_multiple_of(2) => NoReason,
        _ if class != uids::VERIFICATION && !class.starts_with(STORAGE_ROOT) => {
            AbstractSyntaxNotSupported
        }
        None => TransferSyntaxesNotSupported,
        Some(syntax) => {
            let (class, syntax) = (class.to_owned(), syntax.to_owned());
            accepted.push(Context {
                id: proposed.id,
                class,
                syntax,
            });
            Acceptance
        }
    };
    let transfer_syntax = syntax.unwrap_or(uids::IMPLICIT_VR_LITTLE_ENDIAN).to_owned();
    PresentationContextResult {
        id: proposed.id,
        reason,
        transfer_syntax,
    }
}

pub fn request_pdu(call: &Call, proposals: &[Proposal]) -> Pdu {
    let mut user_variables = user_variables();
    let mut classes: Vec<&str> = Vec::new();
    for proposal in proposals.iter().filter(|p| p.to_us) {
        // One role for a class, whatever the number of its contexts.
        if !classes.contains(&proposal.class.as_str()) {
            classes.push(&proposal.class);
            let roles = RequestorRoles {
                scu: false,
                scp: true,
            };
            user_variables.push(UserVariableItem::ScuScpRoleSelectionSubItem(
                proposal.class.clone(),
                roles,
            ));
        }
    }
    let contexts =
        proposals
            .iter()
            .zip((1u8..=255).step_by(2))
            .map(|(p, id)| PresentationContextProposed {
                id,
                abstract_syntax: p.class.clone(),
                transfer_syntaxes: p.syntaxes.clone(),
            });
    Pdu::AssociationRQ(AssociationRQ {
        protocol_version: 1,
        calling_ae_title: call.calling.to_string(),
        called_ae_title: call.called.to_string(),
        application_context_name: APPLICATION_CONTEXT.to_owned(),
        presentation_contexts: contexts.collect(),
        user_variables,
    })
}

pub fn user_variables() -> Vec<UserVariableItem> {
    vec![
        UserVariableItem::MaxLength(PDU_BYTES),
        UserVariableItem::ImplementationClassUID(IMPLEMENTATION_CLASS_UID.to_owned()),
        UserVariableItem::ImplementationVersionName(IMPLEMENTATION_VERSION_NAME.to_owned()),
    ]
}

/// Longest PDU that a peer takes; 0 says any.
pub fn longest(variables: &[UserVariableItem]) -> u32 {
    let said = variables.iter().find_map(|variable| match variable {
        UserVariableItem::MaxLength(longest) => Some(*longest),
        _ => None,
    });
    said.filter(|longest| *longest > 0)
        .unwrap_or(PDU_BYTES)
        .min(PDU_BYTES)
}

pub type Rejection = (AssociationRJResult, AssociationRJSource, String);

/// Why a request is rejected, for the peer and in words.
pub fn why_not(request: &AssociationRQ, policy: &Policy) -> Option<Rejection> {
    use AssociationRJResult::{Permanent, Transient};
    use AssociationRJServiceUserReason as User;
    let permanent =
        |reason, words| Some((Permanent, AssociationRJSource::ServiceUser(reason), words));
    if request
        .application_context_name
        .trim_end_matches('\0')
        .trim()
        != APPLICATION_CONTEXT
    {
        let words = "it speaks another language than DICOM's".to_owned();
        return permanent(User::ApplicationContextNameNotSupported, words);
    }
    if request.called_ae_title != policy.ae.as_str() {
        let words = format!(
            "it called {}, and this is {}",
            plain_title(&request.called_ae_title),
            policy.ae
        );
        return permanent(User::CalledAETitleNotRecognized, words);
    }
    let allowed = policy.allow.is_empty()
        || policy
            .allow
            .iter()
            .any(|a| a.as_str() == request.calling_ae_title);
    if !allowed {
        let words = format!(
            "{} is not on the list of those let in",
            plain_title(&request.calling_ae_title)
        );
        return permanent(User::CallingAETitleNotRecognized, words);
    }
    let reason = AssociationRJServiceProviderPresentationReason::LocalLimitExceeded;
    let source = AssociationRJSource::ServiceProviderPresentation(reason);
    (!(policy.enter)()).then(|| {
        (
            Transient,
            source,
            "there are as many associations as may be at once".to_owned(),
        )
    })
}

fn plain_title(title: &str) -> String {
    plain(title).into_owned()
}

pub fn rejected(who: String, rejection: &AssociationRJ) -> NetworkError {
    use AssociationRJServiceUserReason as User;
    let remedy = match (&rejection.source, &rejection.result) {
        (AssociationRJSource::ServiceUser(User::CalledAETitleNotRecognized), _) => {
            "check the title that is called"
        }
        (AssociationRJSource::ServiceUser(User::CallingAETitleNotRecognized), _) => {
            "have your own title entered there"
        }
        (_, AssociationRJResult::Transient) => "try again later",
        _ => "ask those who run it",
    };
    NetworkError::Rejected {
        who,
        reason: rejection.source.to_string(),
        remedy,
    }
}
