//! TLS for every host name there could be: a certificate authority made on the spot, and a leaf for each
//! name the first time it is asked for.
//!
//! In: the name a client wants to talk to. Out: a certificate for it, signed by the authority whose own
//! certificate a test gives to its client. Nothing is written to disk, and nothing outlives the server.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::server::ServerError;

/// Signs certificates for any name.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
    /// One key for all leaves: making keys is the slow part, and nobody is to be kept out.
    leaf_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
    leaves: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    pub(crate) fn new() -> Result<Self, ServerError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Webloom test authority");
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        let leaf_key = KeyPair::generate()?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let signing_key = ring::sign::any_supported_type(&der)?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
            leaf_key,
            signing_key,
            leaves: Mutex::new(HashMap::new()),
        })
    }

    /// A server's side of TLS with HTTP/2 and HTTP/1.1 on offer.
    pub(crate) fn server_config(self: &Arc<Self>) -> Result<ServerConfig, ServerError> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn leaf(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        if let Some(leaf) = self.leaves.lock().get(name) {
            return Some(leaf.clone());
        }
        let mut params = CertificateParams::new(vec![name.to_owned()]).ok()?;
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&self.leaf_key, &self.issuer).ok()?;
        let leaf = Arc::new(CertifiedKey::new(vec![certificate.der().clone()], self.signing_key.clone()));
        self.leaves.lock().insert(name.to_owned(), leaf.clone());
        Some(leaf)
    }
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // Whoever connects by address sends no name.
        self.leaf(client_hello.server_name().unwrap_or("127.0.0.1"))
    }
}
