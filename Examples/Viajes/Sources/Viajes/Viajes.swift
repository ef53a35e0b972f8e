import Hermes

/// A log of journeys: members open journeys, tell of their days, and follow those of others.
public func viajes() -> Hermes {
    let app = Hermes()
    rules(app)
    functions(app)
    jobs(app)
    return app
}

// MARK: rules

private func rules(_ app: Hermes) {
    app.beforeSave(Viaje.self) { request in
        let titulo = (request.object.titulo ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard (4...80).contains(titulo.count) else { throw ParseError(142, "El título tiene de 4 a 80 letras.") }
        if request.object.titulo != titulo { request.object.titulo = titulo }
        guard !request.isMaster else { return }
        if request.isNew {
            let viajero = try request.requireUser()
            var acl = ACL(publicRead: true)
            acl.allow(.user(viajero), read: true, write: true)
            request.object.viajero = viajero
            request.object.etapas = 0
            request.object.kilometros = 0
            request.object.terminado = false
            request.object.acl = acl
        } else if request.changed(\.etapas) || request.changed(\.kilometros) || request.changed(\.viajero) {
            throw ParseError(119, "Eso lo lleva el servidor.")
        }
    }

    // The day and its journey's sums are one transaction: two clients at once are both counted.
    app.beforeSave(Etapa.self, in: .transaction) { request in
        guard !request.isMaster else { return }
        let viajero = try request.requireUser()
        guard request.isNew else { throw ParseError(119, "Lo contado, contado está.") }
        guard let viaje = request.object.viaje else { throw ParseError(142, "¿De qué viaje?") }
        guard (0...2000).contains(request.object.kilometros ?? 0) else {
            throw ParseError(142, "En un día no se hacen tantos kilómetros.")
        }
        let stored = try await request.asMaster.fetch(viaje)
        guard stored.viajero == viajero else { throw ParseError(119, "Ese viaje es de otra persona.") }
        if stored.terminado == true { throw ParseError(141, "Ese viaje ha terminado.") }
        request.object.acl = ACL(publicRead: true)
        var sums = Record(viaje)
        sums.increment(\.etapas)
        sums.increment(\.kilometros, by: request.object.kilometros ?? 0)
        try await request.asMaster.save(sums)
    }

    app.afterDelete(Viaje.self) { request in
        let viaje = try request.object.pointer
        for try await etapa in request.asMaster.all(Query(Etapa.self).where(\.viaje == viaje)) {
            try await request.asMaster.delete(etapa)
        }
        for try await seguidor in request.asMaster.all(Query(Seguidor.self).where(\.viaje == viaje)) {
            try await request.asMaster.delete(seguidor)
        }
    }

    app.beforeSave(Seguidor.self) { request in
        if !request.isMaster { throw ParseError(119, "Para seguir un viaje está la función seguir.") }
    }
}

// MARK: functions

private func functions(_ app: Hermes) {
    // Begins or ends to follow a journey.
    app.function("seguir", needs: .user, fields: ["viaje": .pointer(Viaje.self).required]) { request in
        let usuario = try request.requireUser()
        let viaje: Pointer<Viaje> = try request.value("viaje")
        let sigue = try await request.transaction { t in
            _ = try await t.fetch(viaje)
            let query = Query(Seguidor.self).where(\.viaje == viaje && \.usuario == usuario)
            if let seguidor = try await t.asMaster.first(query) {
                try await t.asMaster.delete(seguidor)
                return false
            }
            var seguidor = Record(Seguidor(viaje: viaje, usuario: usuario))
            var acl = ACL()
            acl.allow(.user(usuario), read: true)
            seguidor.acl = acl
            try await t.asMaster.save(seguidor)
            return true
        }
        return ["sigue": Value(sigue)]
    }

    // Journeys that have been near a place, with how near they came.
    app.function(
        "cerca", fields: ["punto": .geoPoint.required, "kilometros": .number.range(1...500).byDefault(50)],
        rateLimit: .perMinute(60)
    ) { request in
        let punto: GeoPoint = try request.value("punto")
        let radio: Double = try request.optional("kilometros") ?? 50
        let etapas = try await request.asCaller.find(
            Query(Etapa.self).where(.near(\.punto, punto, within: radio)).include(\.viaje).limit(50))
        var found: [Value] = []
        var seen: Set<Pointer<Viaje>> = []
        for etapa in etapas {
            guard let viaje = etapa.viaje, seen.insert(viaje).inserted else { continue }
            found.append([
                "viaje": .string(viaje.objectId), "titulo": Value(viaje.object?.titulo ?? ""),
                "lugar": Value(etapa.lugar ?? ""),
            ])
        }
        return found
    }
}

// MARK: jobs

private func jobs(_ app: Hermes) {
    // Journeys of which nobody has told for 30 days have ended.
    app.job("terminar", every: .day(at: "04:00", in: "Europe/Madrid")) { job in
        let days = job.params["dias"]?.double ?? 30
        let limit = Date.now.addingTimeInterval(-days * 86_400)
        var count = 0
        for try await viaje in job.asMaster.all(Query(Viaje.self).where(\.terminado != true && \.updatedAt < limit)) {
            var change = Record(try viaje.pointer)
            change.terminado = true
            try await job.asMaster.save(change)
            count += 1
            try await job.report("\(count) viajes terminados")
        }
        job.log.info("viajes terminados", ["cuantos": Value(count)])
    }
}
