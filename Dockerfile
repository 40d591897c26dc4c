# analysis-worker, analysisctl, image-decoder and model-endpoint in one image.
FROM swift:6.3-bookworm AS build
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends pkg-config libpq-dev libcurl4-openssl-dev libmicrohttpd-dev \
    libturbojpeg0-dev libpng-dev libexif-dev liblcms2-dev zlib1g-dev libsodium-dev libssl-dev \
    libsystemd-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
COPY sql ./sql
COPY Sources ./Sources
COPY Tests ./Tests
RUN swift build -c release --static-swift-stdlib -Xlinker -s --product analysis-worker \
 && swift build -c release --static-swift-stdlib -Xlinker -s --product analysisctl \
 && swift build -c release --static-swift-stdlib -Xlinker -s --product image-decoder \
 && swift build -c release --static-swift-stdlib -Xlinker -s --product model-endpoint \
 && install -D -t /out .build/release/analysis-worker .build/release/analysisctl .build/release/image-decoder \
    .build/release/model-endpoint

FROM debian:bookworm-slim
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends ca-certificates libpq5 libcurl4 libmicrohttpd12 libturbojpeg0 \
    libpng16-16 libexif12 liblcms2-2 zlib1g libsodium23 libssl3 libsystemd0 tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --home-dir /var/lib/analysis --create-home analysis \
 # A new volume takes the owner of the folder that it covers.
 && install -d -o analysis -g analysis -m 0700 /var/lib/analysis/reports
COPY --from=build /out/ /usr/bin/
USER analysis
WORKDIR /var/lib/analysis
CMD ["analysisctl", "--help"]
