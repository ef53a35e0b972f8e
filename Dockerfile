# Hermes alone, without a PostgreSQL of its own: tell it one in DATABASE_URL (docker-compose.yml does).

FROM swift:6.2-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
    libpq-dev libmicrohttpd-dev libcurl4-openssl-dev libssl-dev libcrypt-dev libcjose-dev libjansson-dev libsimdjson-dev zlib1g-dev \
    libncurses-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
COPY sql sql
RUN swift build -c release --static-swift-stdlib --product hermes && strip .build/release/hermes

FROM debian:bookworm-slim
# The last line: cloud code in JavaScript, `hermes backup`, time zones of schedules.
RUN apt-get update && apt-get install -y --no-install-recommends \
    ca-certificates curl libpq5 libmicrohttpd12 libcurl4 libssl3 libcrypt1 libcjose0 libjansson4 libsimdjson14 zlib1g \
    libncursesw6 libstdc++6 \
    libjavascriptcoregtk-4.1-0 postgresql-client-15 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home-dir /data --create-home hermes
COPY --from=build /src/.build/release/hermes /usr/local/bin/hermes
USER hermes
ENV HERMES_DATA=/data HERMES_HOST=0.0.0.0
VOLUME /data
EXPOSE 1337
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s CMD ["curl", "-fsS", "http://127.0.0.1:1337/parse/health"]
ENTRYPOINT ["hermes"]
CMD ["serve"]
