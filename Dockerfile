# SPDX-License-Identifier: BSD-3-Clause
# Image with all programs. Build it with `docker build .`, or with script/image on a machine without a registry.
# docs/howto/containers.md runs a director and its health checks from it.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
# The packages are in a layer of their own, so that a change of the code does not install them again.
COPY script/bootstrap script/lib.sh script/
RUN script/bootstrap --build-only
COPY . .
RUN script/build build --prefix=/usr --buildtype=release -Dtests=false && \
    DESTDIR=/out meson install -C build --no-rebuild --strip --quiet && \
    script/runtime-packages /out/usr/bin/* >/runtime-packages

FROM ${BASE}
LABEL org.opencontainers.image.title="GLB Director" \
      org.opencontainers.image.description="Stateless layer 4 load balancer" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.version="0.1.0"
# The user has a fixed number, so that files of the host can belong to it. It owns the folders of tables and telemetry, and named volumes
# that are mounted there get owner and mode from here. The group root may use them too, because root without CAP_DAC_OVERRIDE needs it.
COPY --from=build /runtime-packages /tmp/
RUN apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(cat /tmp/runtime-packages) && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* /tmp/* && \
    groupadd --gid 19523 glb && \
    useradd --uid 19523 --gid glb --no-log-init --home-dir /var/lib/glb --shell /usr/sbin/nologin glb
COPY --from=build /out/ /
RUN install -d -o glb -g root -m 2770 /var/lib/glb /run/dpdk
USER 19523:19523
# DPDK and glb-director-cli look for the director's socket below $XDG_RUNTIME_DIR/dpdk. Root needs no variable for the same folder.
ENV XDG_RUNTIME_DIR=/run
# `health` exits with 1 if the director is degraded, but forwards. A health check of Docker knows only 0 and 1.
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=2 CMD glb-director-cli health --timeout 3; [ $? -lt 2 ]
ENTRYPOINT ["glb-director"]
CMD ["--help"]
