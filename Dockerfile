# Pogo's commands in a small image, from its Debian package.
#
#   docker build -t pogo .
#   docker run --rm -v "$PWD:/work" pogo pogo-block weld.inp
#   docker run --rm --gpus all -v "$PWD:/work" pogo pogo-solve weld.blk
#
# --gpus needs the NVIDIA Container Toolkit on the host, which brings the driver's libraries; no CUDA toolkit is in the image.
#
# What was run: this file, by Buildah 1.28 of Debian 12, over images of the same names that were made of Debian's packages and Rust 1.95;
# and in the container, models of all four kinds on a CPU. What was not: the images of Docker Hub, and --gpus.
FROM rust:1.95-bookworm AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev make git
RUN cargo install cargo-deb --locked
COPY . /pogo
WORKDIR /pogo
RUN packaging/deb.sh && cp target/debian/pogo_*.deb /pogo.deb

FROM debian:bookworm-slim
COPY --from=build /pogo.deb /tmp/pogo.deb
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/pogo.deb && rm -rf /tmp/pogo.deb /var/lib/apt/lists/*
# What the container toolkit brings in: compute, and utility for nvidia-smi.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
CMD ["pogo-solve", "--help"]
