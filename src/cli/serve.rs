//! `citewire serve`: the gateway and its demo page.

use std::process::ExitCode;

use super::{Trouble, paint, runtime, say};
use crate::config::{Config, Docs, Options};
use crate::http::{Listening, Server};

pub(super) fn run(options: Options) -> Result<ExitCode, Trouble> {
    let config = Config::load(options).map_err(Trouble::new)?;
    runtime()?.block_on(async {
        let address = config.listen.clone();
        let server = Server::build(config).map_err(Trouble::new)?;
        let listening =
            server.listen().await.map_err(|e| Trouble(format!("listen: cannot listen on {address}: {e}")))?;
        announce(&listening)?;
        let cut = listening.serve(stop_signal()).await;
        if cut > 0 {
            anstream::eprintln!("citewire: {cut} open answers were cut");
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn announce(listening: &Listening) -> Result<(), Trouble> {
    let address = listening.address().map_err(Trouble::new)?;
    let gateway = listening.gateway();
    let (strong, reset) = (paint::STRONG, paint::STRONG.render_reset());
    say(format_args!("citewire {} at {strong}http://{address}{reset}\n", env!("CARGO_PKG_VERSION")))?;
    say(format_args!("  model      {}\n", gateway.model_description()))?;
    say(format_args!("  documents  {}\n", gateway.docs_description()))?;
    let question = match gateway.config().docs {
        Docs::Builtin => "How much is the monthly pass?",
        Docs::Folder(_) | Docs::None => "…",
    };
    say(format_args!(
        "  ask        curl -N http://{address}/v1/answers -H 'content-type: application/json' \\\n\
         \u{20}              -d '{{\"question\":\"{question}\"}}'\n"
    ))?;
    Ok(())
}

/// Ready at the first SIGINT or SIGTERM; the second one ends the process at once.
async fn stop_signal() {
    one_signal().await;
    anstream::eprintln!("citewire: stopping; open answers go on to their end (once more to stop at once)");
    tokio::spawn(async {
        one_signal().await;
        std::process::exit(1);
    });
}

async fn one_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
