//! Several readers of one answer: each gets everything, and none slows or stops another.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpSocket;
use tokio::time::Instant;

use crate::client::{Client, PATIENCE, Seen, Stream};
use crate::gate::{Gate, question, scripted, time, timed};
use crate::model;
use crate::upstream::{Peer, Server, within};

/// A healthy reader never waits longer than this because of another one: the gateway takes an answer over after 50 ms, and
/// looks every 25 ms.
const NO_GAP: Duration = Duration::from_millis(500);

fn check_same(a: &Seen, b: &Seen) {
    assert_eq!(a.text(), b.text());
    let others =
        |seen: &Seen| -> Vec<String> { seen.0.iter().filter(|f| f.kind != "delta").map(|f| f.raw.clone()).collect() };
    assert_eq!(others(a), others(b));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_see_the_same() {
    let gate = Gate::start(|_| {}).await;
    let words: Vec<String> = (0..60).map(|i| format!("word{i} [{}] ", i % 3)).collect();
    for gap in [0, 1, 3] {
        let mut a = gate.ask(&scripted(&json!({"chunks": words, "gap_ms": gap}))).await;
        let mut b = gate.follow(&a.id, 0).await;
        let (a, b) = tokio::join!(a.rest(), b.rest());
        assert_eq!(a.text(), words.concat());
        check_same(&a, &b);
    }
}

/// A connection that takes little: small segments keep the kernel's buffers at both ends small.
pub(crate) async fn narrow(gate: &Gate) -> Client {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_tcp_mss(536).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = TcpSocket::from_std_stream(socket.into());
    Client::over(within(PATIENCE, TcpSocket::connect(socket, gate.address)).await.unwrap())
}

/// Chunks of 1 KiB, 300 of them, whose first words say which they are.
fn long_answer() -> Vec<String> {
    (0..300).map(|i| format!("{i:04} {}", "x".repeat(1019))).collect()
}

/// Reads to the end; the longest wait between two events, and all of them.
async fn watched(mut stream: Stream) -> (Duration, Seen) {
    let (mut longest, mut frames) = (Duration::ZERO, Vec::new());
    loop {
        let (wait, frame) = timed(stream.next()).await;
        longest = longest.max(wait);
        match frame {
            Some(frame) => frames.push(frame),
            None => return (longest, Seen(frames)),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_does_not_read_slows_nobody() {
    let gate = Gate::start(|_| {}).await;
    for asks_first in ["slow", "fast"] {
        let question = scripted(&json!({"chunks": long_answer(), "gap_ms": 2}));
        let (mut slow, fast) = if asks_first == "slow" {
            let slow = gate.ask_over(narrow(&gate).await, &question).await;
            let fast = gate.follow(&slow.id, 0).await;
            (slow, fast)
        } else {
            let fast = gate.ask(&question).await;
            (gate.follow_over(narrow(&gate).await, &fast.id, 0).await, fast)
        };
        let began = Instant::now();
        let (longest, fast) = watched(fast).await;
        assert!(longest < NO_GAP, "{asks_first} asks first: the other waited {longest:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?} for 600 ms of chunks", began.elapsed());
        assert_eq!(fast.text(), long_answer().concat());
        // All of it is still there for the one that comes to read it byte by byte.
        slow.client.read_size = 1;
        let slow = slow.rest().await;
        check_same(&slow, &fast);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_reads_byte_by_byte_slows_nobody() {
    let gate = Gate::start(|_| {}).await;
    let mut slow = gate.ask_over(narrow(&gate).await, &scripted(&json!({"chunks": long_answer(), "gap_ms": 2}))).await;
    slow.client.read_size = 1;
    let fast = gate.follow(&slow.id, 0).await;
    let (slow, (longest, fast)) = tokio::join!(slow.rest(), watched(fast));
    assert!(longest < NO_GAP, "the other waited {longest:?}");
    check_same(&slow, &fast);
}

/// The only reader stops reading. The model is read to its end all the same, within the answer's own deadlines.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_stalls_alone_does_not_stop_the_model() {
    let gate = Gate::start(|_| {}).await;
    let slow = gate.ask_over(narrow(&gate).await, &scripted(&json!({"chunks": long_answer(), "gap_ms": 2}))).await;
    let record = gate.record_when(&slow.id, |r| r["state"] != "running").await;
    assert_eq!((&record["state"], &record["text"]), (&json!("done"), &json!(long_answer().concat())));
    let mut slow = slow;
    assert_eq!(slow.rest().await.text(), long_answer().concat());
}

/// Two readers of an answer whose model the test plays.
async fn two_readers(gate: &Gate, server: &Server) -> (Stream, Stream, Peer) {
    let mut a = gate.ask(&question()).await;
    let mut peer = model::begin(server).await;
    a.expect("start").await;
    let mut b = gate.follow(&a.id, 0).await;
    b.expect("start").await;
    peer.write(model::text("It costs ")).await;
    a.expect_text("It costs ").await;
    b.expect_text("It costs ").await;
    (a, b, peer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_one_that_drives_vanishes_the_other_goes_on() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut longest = Duration::ZERO;
    // Either may be the driver: the one that read last. So each vanishes in turn, with and without a reset.
    for round in 0..24 {
        let (a, b, mut peer) = two_readers(&gate, &server).await;
        let (gone, mut left) = if round % 2 == 0 { (a, b) } else { (b, a) };
        if round % 4 < 2 {
            gone.client.reset();
        } else {
            drop(gone);
        }
        for piece in ["25 ", "dollars [1]", "."] {
            let (wait, ()) = timed(async {
                peer.write(model::text(piece)).await;
                left.expect_text(piece).await;
            })
            .await;
            longest = longest.max(wait);
        }
        peer.write(model::end()).await;
        left.expect("annotate").await;
        left.expect("done").await;
    }
    assert!(longest < NO_GAP, "a gap of {longest:?}");
}

/// A reader that drives and stalls, with its socket full, and then vanishes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_stalled_one_vanishes_the_other_goes_on() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    for reset in [false, true] {
        let stalled = gate.ask_over(narrow(&gate).await, &question()).await;
        let mut peer = model::begin(&server).await;
        let mut left = gate.follow(&stalled.id, 0).await;
        left.expect("start").await;
        for piece in long_answer() {
            peer.write(model::text(&piece)).await;
            left.expect_text(&piece).await;
        }
        if reset {
            stalled.client.reset();
        } else {
            drop(stalled);
        }
        let (wait, ()) = timed(async {
            peer.write(model::text("still [1]")).await;
            left.expect_text("still [1]").await;
        })
        .await;
        assert!(wait < NO_GAP, "a gap of {wait:?}");
        peer.write(model::end()).await;
        left.rest().await.only("done");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_all_vanish_the_answer_goes_on_for_a_while() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |o| o.abandon_after = time("30s")).await;
    for round in 0..4 {
        let (a, b, mut peer) = two_readers(&gate, &server).await;
        let id = a.id.clone();
        if round % 2 == 0 {
            a.client.reset();
            b.client.reset();
        } else {
            drop((b, a));
        }
        peer.write(model::text("25 dollars [1")).await;
        gate.record_when(&id, |r| r["text"] == "It costs 25 dollars ").await;
        // One comes back in the middle and goes again, before the rest comes.
        if round > 1 {
            let mut back = gate.follow(&id, 2).await;
            back.expect_text("25 dollars ").await;
        }
        peer.write(model::text("].")).await;
        peer.write(model::end()).await;
        let record = gate.record_when(&id, |r| r["state"] != "running").await;
        assert_eq!((&record["state"], &record["verdict"]), (&json!("done"), &json!("clean")));
        let mut back = gate.follow(&id, 2).await;
        back.expect_text("25 dollars [1].").await;
        back.expect("annotate").await;
        back.expect("done").await;
    }
}
