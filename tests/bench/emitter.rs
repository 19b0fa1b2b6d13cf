//! What the hold-back emitter costs: per small chunk, and per byte of long and of hostile text.

use std::hint::black_box;

use citewire::answer::holdback::HoldBack;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// An answer with a marker every 60 characters or so, cut every four bytes.
fn chunks() -> Vec<String> {
    let text = "The pass costs 25 dollars [1]. Rides last up to 45 minutes [2], and a late return is charged [1, 3]. "
        .repeat(40);
    text.as_bytes().chunks(4).map(|c| String::from_utf8_lossy(c).into_owned()).collect()
}

fn small_chunks(c: &mut Criterion) {
    let chunks = chunks();
    let mut group = c.benchmark_group("emitter");
    group.throughput(Throughput::Elements(chunks.len() as u64));
    group.bench_function("4-byte chunks", |b| {
        b.iter(|| {
            let mut emitter = HoldBack::new(128);
            for chunk in &chunks {
                black_box(emitter.push(black_box(chunk)));
            }
            black_box(emitter.finish().len())
        });
    });
    group.finish();
}

fn long_text(c: &mut Criterion) {
    let mut group = c.benchmark_group("emitter");
    for (name, unit) in [("long text", "no bracket in sight, "), ("openers", "["), ("foreign openers", "<|\u{E200}")] {
        let text = unit.repeat(1_000_000 / unit.len());
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut emitter = HoldBack::new(128);
                black_box(emitter.push(black_box(&text)).len());
                black_box(emitter.finish().len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, small_chunks, long_text);
criterion_main!(benches);
