# SPDX-License-Identifier: BSD-3-Clause
# glb-director and glb-director-cli. `docker build .` where there is a registry; script/image where there is none.
#
# Run it with the port's device, hugepages, and no more privileges than the director needs:
#
#   docker run --network host --read-only --tmpfs /run --cap-drop ALL --cap-add IPC_LOCK --cap-add NET_ADMIN --cap-add NET_RAW \
#     --security-opt no-new-privileges --ulimit memlock=-1 --device /dev/vfio --volume /dev/hugepages:/dev/hugepages \
#     --volume /etc/glb:/etc/glb:ro IMAGE -l 0-2 -a 0000:3b:02.0 -- \
#     --config-file /etc/glb/director.conf --forwarding-table /etc/glb/forwarding_table.bin
#
# NET_ADMIN and NET_RAW are for AF_PACKET and the exception path; AF_XDP needs SYS_ADMIN, too; a VFIO port alone needs IPC_LOCK.
# The user is root, to whom /dev/vfio and hugepages belong. Most of the command line needs no privilege: --user nobody
# --entrypoint glb-director-cli.
ARG BASE=docker.io/library/debian:bookworm

FROM ${BASE} AS build
WORKDIR /src
# Alone in a layer, so that a change of the code does not install everything again.
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
