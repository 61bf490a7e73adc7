# SPDX-License-Identifier: BSD-3-Clause
# Image with glb-director and glb-director-cli. Build it with `docker build .`, or with script/image on a machine without a registry.
#
# Run it with the device of the port, with hugepages, and only with the privileges that the director needs:
#
#   docker run --network host --read-only --tmpfs /run --cap-drop ALL --cap-add IPC_LOCK --cap-add NET_ADMIN --cap-add NET_RAW \
#     --security-opt no-new-privileges --ulimit memlock=-1 --device /dev/vfio --volume /dev/hugepages:/dev/hugepages \
#     --volume /etc/glb:/etc/glb:ro --volume /var/lib/glb:/var/lib/glb:ro IMAGE -l 0-2 -a 0000:3b:02.0 -- \
#     --config-file /etc/glb/director.conf --forwarding-table /var/lib/glb/forwarding_table.bin
#
# A VFIO port needs IPC_LOCK. AF_PACKET ports and the exception path also need NET_ADMIN and NET_RAW. AF_XDP ports also need SYS_ADMIN and
# --volume /sys/fs/bpf:/sys/fs/bpf. The user is root, which owns /dev/vfio and hugepages. Most subcommands of glb-director-cli need no
# privileges: run them with --user nobody --entrypoint glb-director-cli.
ARG BASE=docker.io/library/debian:bookworm

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
      org.opencontainers.image.licenses="BSD-3-Clause"
COPY --from=build /runtime-packages /tmp/
RUN apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(cat /tmp/runtime-packages) && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* /tmp/*
COPY --from=build /out/ /
ENTRYPOINT ["glb-director"]
CMD ["--help"]
