import Hermes

/// What the server itself refuses, as a person reads it: its own sentences are for who writes clients, and in English.
struct ServerWords {
    private let spanish: String
    /// nil: as the server says it.
    private let english: String?

    private init(_ spanish: String, _ english: String? = nil) {
        self.spanish = spanish
        self.english = english
    }

    /// - Returns: nil for what the forum's own rules have said, in the reader's language already.
    static func of(_ error: ParseError, in language: Language) -> String? {
        if let words = known(error.message, in: language) { return words }
        guard language == .spanish, !ownCodes.contains(error.code ?? 0),
            // A function of the forum has said it already.
            !known.contains(where: { error.message.hasPrefix($0.words.spanish.prefix { $0 != "#" }) })
        else { return nil }
        return "No se ha podido hacer. Prueba otra vez; si sigue igual, dínoslo (error \(error.code ?? 0))."
    }

    /// - Returns: nil for a sentence that is not the server's, or that only who writes clients is told.
    static func known(_ message: String, in language: Language) -> String? {
        for (piece, words) in known {
            let told: String
            if piece.hasPrefix("…") {
                guard message.hasSuffix(piece.dropFirst()) else { continue }
                told = String(message.dropLast(piece.count - 1))
            } else {
                guard message.hasPrefix(piece) else { continue }
                // A number in it, of minutes or of passwords, is told along.
                told = message.firstMatch(of: /[0-9]+/).map { String($0.output) } ?? ""
            }
            return language.choose(words.spanish.replacing("#", with: told), words.english ?? message)
        }
        return nil
    }

    /// Codes with which the forum's rules refuse.
    private static let ownCodes: Set<Int> = [101, 119, 125, 137, 141, 142, 202, 203, 204]

    /// By how a sentence begins; behind `…`, by how it ends. The first one that fits.
    private static let known: [(piece: String, words: ServerWords)] = [
        // Log-in
        (
            "Invalid username/password.",
            .init("El usuario o la contraseña no son correctos.", "The user name or the password is wrong.")
        ),
        (
            "Your account is locked due",
            .init("Demasiados intentos: la cuenta está cerrada. Prueba otra vez dentro de # minutos.")
        ),
        (
            "Your account is locked",
            .init(
                "Tu cuenta está cerrada: escribe a quien lleva el foro.",
                "Your account is locked: write to who runs the forum.")
        ),
        (
            "Your password has expired",
            .init(
                "Tu contraseña ha caducado: pide un enlace para elegir otra.",
                "Your password has expired: ask for a link to choose another one.")
        ),
        (
            "User email is not verified",
            .init("Confirma antes tu dirección: mira tu correo.", "Confirm your address first: look at your mail.")
        ),
        (
            "Missing additional authData mfa",
            .init(
                "Tu cuenta pide además un código: el de tu aplicación, o uno de recuperación.",
                "Your account asks for a code too: the one of your app, or a recovery code.")
        ),
        (
            "Invalid MFA token",
            .init("El código no es correcto, o ya se ha usado.", "The code is wrong, or was used already.")
        ),
        (
            "Too many MFA tokens",
            .init(
                "Demasiados códigos equivocados. Prueba otra vez dentro de un cuarto de hora.",
                "Too many codes were wrong. Try again in a quarter of an hour.")
        ),
        (
            "MFA is already set up",
            .init("Tu cuenta ya pide un segundo factor.", "Your account asks for a second factor already.")
        ),
        (
            "Invalid MFA data",
            .init("El segundo factor no es válido: empieza otra vez.", "The second factor is not valid: begin again.")
        ),
        (
            "The MFA secret must be",
            .init("La clave del segundo factor no es válida.", "The secret of the second factor is not valid.")
        ),
        (
            "The second factor cannot be read",
            .init(
                "El servidor ya no puede leer tu segundo factor. Escribe a quien lleva el foro.",
                "The server can't read your second factor any more. Write to who runs the forum.")
        ),
        ("Session token", .init("Tu sesión ha terminado: entra otra vez.", "Your session has ended: log in again.")),
        (
            "Invalid session token",
            .init("Tu sesión ha terminado: entra otra vez.", "Your session has ended: log in again.")
        ),
        ("invalid session", .init("Tu sesión ha terminado: entra otra vez.", "Your session has ended: log in again.")),
        ("The link is invalid or has expired.", .init("El enlace no es válido, o ha caducado.")),
        ("This server sends no links to log in by", noMail),
        (
            "Too many passwords are being checked",
            .init("Ahora mismo entra mucha gente. Prueba otra vez dentro de un momento.")
        ),
        (
            "The provider of this log-in",
            .init("Ahora no se puede entrar con esa cuenta. Prueba otra vez dentro de un momento.")
        ),
        ("This authentication method is unsupported", .init("Con esa cuenta no se puede entrar en este foro.")),
        (
            "this auth is already used",
            .init("Esa cuenta ya es de otro miembro.", "That account is another member's already.")
        ),
        ("User not found", noAccount), ("user not found", noAccount),
        // Accounts
        ("Account already exists for this username", .init("Ese nombre de usuario ya está cogido.")),
        ("Account already exists for this email", .init("Ya hay una cuenta con esa dirección.")),
        ("Email address format is invalid", .init("La dirección de correo no es válida.")),
        ("you must provide", .init("La dirección de correo no es válida.", "The email address is not valid.")),
        ("A user with that email does not exist", .init("No hay ninguna cuenta con esa dirección.")),
        ("No user found with email", .init("No hay ninguna cuenta con esa dirección.")),
        ("…is already verified.", .init("Tu dirección ya está confirmada.", "Your address is confirmed already.")),
        ("bad or missing username", .init("Falta el nombre de usuario.", "The user name is missing.")),
        ("username/email is required", .init("Falta el nombre de usuario.", "The user name is missing.")),
        ("password is required", .init("Falta la contraseña.", "The password is missing.")),
        ("Missing password", .init("Falta la contraseña.", "The password is missing.")),
        ("A password must be a text", .init("La contraseña no es válida.", "The password is not valid.")),
        ("A password cannot hold", .init("La contraseña tiene un carácter que no se puede usar.")),
        ("The password could not be hashed", .init("La contraseña no se ha podido guardar. Prueba otra vez.")),
        (
            "Failed to reset password",
            .init("El enlace no es válido, o ya se ha usado.", "The link is not valid, or was used.")
        ),
        ("Missing token", .init("El enlace no es válido, o ya se ha usado.", "The link is not valid, or was used.")),
        (
            "The password reset link has expired",
            .init("El enlace ha caducado: pide otro.", "The link has expired: ask for another.")
        ),
        (
            "This account has been exported too often",
            .init("Ya has pedido tus datos hace poco. Prueba otra vez más tarde.")
        ),
        (
            "There is more to export",
            .init("Son demasiados datos para mandarlos de una vez: escribe a quien lleva el foro.")
        ),
        (
            "Password does not meet",
            .init("La contraseña es demasiado fácil: elige otra.", "The password is too simple: choose another one.")
        ),
        ("Password cannot contain your username", .init("La contraseña no puede contener tu nombre de usuario.")),
        (
            "New password should not be the same",
            .init("Esa contraseña ya la has usado: tiene que ser distinta de las últimas #.")
        ),
        // Anything
        ("Object not found", .init("No existe, o no puedes verlo.", "There is no such object.")),
        ("Invalid object ID", .init("No existe, o no puedes verlo.", "There is no such object.")),
        ("Permission denied", .init("No se permite.", "That is not allowed.")),
        ("This user is not allowed", .init("No se permite.", "That is not allowed.")),
        ("Clients aren't allowed", .init("No se permite.", "That is not allowed.")),
        ("Only the master key", .init("No se permite.", "That is not allowed.")),
        ("The read-only master key", .init("No se permite.", "That is not allowed.")),
        ("A duplicate value", .init("Ya existe.", "It is there already.")),
        ("schema mismatch", .init("Hay un valor que no es válido.", "A value is not valid.")),
        (
            "Validation failed. Please login",
            .init("Hace falta una sesión: entra primero.", "This needs a session: log in first.")
        ),
        ("Validation failed", .init("Hay un valor que no es válido.")),
        ("… is required", .init("Falta: #.", "Missing: #.")),
        (
            "Text must not hold",
            .init(
                "El texto tiene un carácter que no se puede guardar.", "The text has a character that can't be stored.")
        ),
        (
            "Others are changing the same objects",
            .init("Otros lo están cambiando a la vez. Prueba otra vez dentro de un momento.")
        ),
        // "is busy and cannot be changed now", "is gone"
        ("The class", changed),
        ("Duplicate request", .init("Eso ya se ha mandado.", "That was sent already.")),
        ("Too many requests", .init("Demasiadas peticiones. Prueba otra vez dentro de un momento.")),
        (
            "An internal server error",
            .init(
                "Algo ha fallado en el servidor. Prueba otra vez dentro de un momento.",
                "Something failed on the server. Try again in a moment.")
        ),
        (
            "The database cannot be reached",
            .init("El servidor no llega a sus datos. Prueba otra vez dentro de un momento.")
        ),
        (
            "The server holds as many large answers",
            .init("El servidor está muy ocupado. Prueba otra vez dentro de un momento.")
        ),
        ("The request was given up", tooLong), ("…s and was stopped.", tooLong),
        ("The transaction took longer", tooLong),
        ("The query took too long", tooLong),
        ("The schema has just changed", changed),
        ("There is no mail without", noMail), ("This server sends no mail", noMail),
        ("Cloud code failed", .init("Algo ha fallado en el foro.", "Something failed in the forum.")),
        ("Invalid function", .init("Algo ha fallado en el foro.", "Something failed in the forum.")),
    ]

    private static let noMail = ServerWords(
        "Este foro no manda correos: escribe a quien lo lleva.", "This forum sends no mail: write to who runs it.")
    private static let noAccount = ServerWords("No existe esa cuenta.", "There is no such account.")
    private static let changed = ServerWords(
        "El foro acaba de cambiar. Prueba otra vez.", "The forum has just changed. Try again.")
    private static let tooLong = ServerWords("Ha tardado demasiado. Prueba otra vez.", "It took too long. Try again.")
}
