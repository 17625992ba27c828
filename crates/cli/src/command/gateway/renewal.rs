//! Certificates towards the upstream proxy, read again when a file changes or SIGHUP asks for it.

use crate::arguments::{GatewayUp, UpstreamTlsOptions};
use crate::command::certificates::Certificates;
use crate::tls_files;
use proxy::config::Upstream;
use tracing::info;

pub(super) struct Renewal {
    options: UpstreamTlsOptions,
    host: String,
    files: Certificates,
    /// Configuration of the running proxy.
    config: proxy::Config,
}

impl Renewal {
    /// `files` watches since before `config` was read.
    pub(super) fn new(arguments: &GatewayUp, files: Certificates, config: proxy::Config) -> Self {
        let options = arguments.upstream_tls.clone();
        Self { options, host: arguments.upstream.host.certificate_name(), files, config }
    }

    /// Watches the files that the options name.
    pub(super) fn files(arguments: &GatewayUp) -> Certificates {
        Certificates::of(tls_files::files_of_client(&arguments.upstream_tls.client))
    }

    /// Reads the files if `is_asked`, or if they have changed. Invalid ones leave the present ones.
    pub(super) fn poll(&mut self, is_asked: bool, proxy: &proxy::Proxy) {
        let have_changed = self.files.have_changed();
        if !have_changed && !is_asked {
            return;
        }
        let tls = match tls_files::upstream(&self.options, &self.host) {
            Ok(tls) => tls,
            Err(why) => {
                let why = format!("the certificates stay as they were:\n{}", why.to_text());
                return self.files.note_failure(have_changed, why);
            }
        };
        let upstream = self.config.upstream.take().map(|upstream| Upstream { tls, ..upstream });
        self.config.upstream = upstream;
        match proxy.reload(self.config.clone()) {
            Ok(()) => {
                info!("new connections to the upstream use the certificates as they are now");
                self.files.note_success();
            }
            Err(error) => {
                let why = format!("the certificates stay as they were: {error}");
                self.files.note_failure(have_changed, why);
            }
        }
    }
}
