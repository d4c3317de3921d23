# Pogo's commands in a small image, from its Debian package.
#
#   docker build -t pogo .
#   docker run --rm -v "$PWD:/work" pogo pogo-block weld.inp
#   docker run --rm --gpus all -v "$PWD:/work" pogo pogo-solve weld.blk
#
# --gpus needs the NVIDIA Container Toolkit on the host, which brings the driver's libraries; no CUDA toolkit is in the image.
#
# What was run: packaging/deb.sh, which the first stage calls (with commands that were built before), and packaging/test-deb.sh,
# which installs the package and runs models of all kinds. What was not: this file itself. The machines on which it was written have no engine for containers.
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
