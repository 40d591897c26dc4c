# analysis-worker, analysis-gateway, analysisctl, image-decoder and statement-printer in one image; with --target development
# the stand-in endpoint as well.
#
# An argument can fix each image that these are made from by its digest, as @sha256:…; scripts/image-digests finds them. With
# DEBIAN_SNAPSHOT packages are those of a moment, such as 20261101T000000Z, from snapshot.debian.org; and where the build is told
# SOURCE_DATE_EPOCH, and to write files with that time, two builds are the same.
ARG SWIFT_DIGEST=
ARG DEBIAN_DIGEST=
ARG DEBIAN_SNAPSHOT=
ARG SOURCE_DATE_EPOCH=

FROM swift:6.3-bookworm${SWIFT_DIGEST} AS build
ARG DEBIAN_SNAPSHOT
RUN [ -z "$DEBIAN_SNAPSHOT" ] || { \
      sed -i "s,deb\.debian\.org/\(debian[a-z-]*\),snapshot.debian.org/archive/\1/$DEBIAN_SNAPSHOT," \
        /etc/apt/sources.list.d/debian.sources \
      && echo 'Acquire::Check-Valid-Until "false";' > /etc/apt/apt.conf.d/snapshot; }
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends pkg-config libpq-dev libcurl4-openssl-dev libmicrohttpd-dev \
    libturbojpeg0-dev libjpeg-dev libpng-dev libexif-dev liblcms2-dev zlib1g-dev libsodium-dev libssl-dev \
    libsystemd-dev libpango1.0-dev libxlsxwriter-dev libqrencode-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
COPY sql ./sql
COPY Plugins ./Plugins
COPY Sources ./Sources
COPY Tests ./Tests
COPY Benchmarks ./Benchmarks
COPY scripts/check-programs ./scripts/
RUN for program in analysis-worker analysis-gateway analysisctl image-decoder statement-printer; do \
      swift build -c release --static-swift-stdlib --disable-local-rpath -Xlinker -s --product "$program" || exit; \
    done \
 && install -D -t /out .build/release/analysis-worker .build/release/analysis-gateway .build/release/analysisctl \
    .build/release/image-decoder .build/release/statement-printer \
 && scripts/check-programs /out/*

FROM build AS build-development
RUN swift build -c release --static-swift-stdlib --disable-local-rpath -Xlinker -s --product model-endpoint \
 && install -D -t /out-development .build/release/model-endpoint

FROM debian:bookworm-slim${DEBIAN_DIGEST} AS base
ARG DEBIAN_SNAPSHOT
RUN [ -z "$DEBIAN_SNAPSHOT" ] || { \
      sed -i "s,deb\.debian\.org/\(debian[a-z-]*\),snapshot.debian.org/archive/\1/$DEBIAN_SNAPSHOT," \
        /etc/apt/sources.list.d/debian.sources \
      && echo 'Acquire::Check-Valid-Until "false";' > /etc/apt/apt.conf.d/snapshot; }
# Given for the day on which the user is made.
ARG SOURCE_DATE_EPOCH
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends ca-certificates libpq5 libcurl4 libmicrohttpd12 libturbojpeg0 \
    libjpeg62-turbo libpng16-16 libexif12 liblcms2-2 zlib1g libsodium23 libssl3 libsystemd0 libpangocairo-1.0-0 \
    libxlsxwriter4 libqrencode4 fonts-dejavu-core tzdata \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig/aux-cache /var/log/apt /var/log/*.log \
 && useradd --system --home-dir /var/lib/analysis --create-home analysis \
 # A new volume takes the owner of the folder that it covers, and what is in it.
 && install -d -o analysis -g analysis -m 0700 /var/lib/analysis/reports /var/lib/analysis/keys /var/lib/analysis/audit \
 && install -o analysis -g analysis -m 0600 /dev/null /var/lib/analysis/audit/ends
COPY --from=build /out/ /usr/bin/
ENV SWIFT_BACKTRACE=enable=no
WORKDIR /var/lib/analysis
CMD ["analysisctl", "--help"]

# To try things out, with an endpoint that is no medical model.
FROM base AS development
COPY --from=build-development /out-development/ /usr/bin/
USER analysis

FROM base AS production
USER analysis
