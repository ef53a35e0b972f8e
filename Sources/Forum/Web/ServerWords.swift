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
        if let words = known.first(where: { error.message.hasPrefix($0.beginning) })?.words {
            // A number in it, of minutes or of passwords, is told along.
            let number = error.message.firstMatch(of: /[0-9]+/).map { String($0.output) } ?? ""
            return language.choose(words.spanish.replacing("#", with: number), words.english ?? error.message)
        }
        guard language == .spanish, !ownCodes.contains(error.code ?? 0) else { return nil }
        return "No se ha podido hacer. Prueba otra vez; si sigue igual, dínoslo (error \(error.code ?? 0))."
    }

    /// Codes with which the forum's rules refuse.
    private static let ownCodes: Set<Int> = [101, 119, 125, 137, 141, 142, 202, 203, 204]

    private static let known: [(beginning: String, words: ServerWords)] = [
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
        // Accounts
        ("Account already exists for this username", .init("Ese nombre de usuario ya está cogido.")),
        ("Account already exists for this email", .init("Ya hay una cuenta con esa dirección.")),
        ("Email address format is invalid", .init("La dirección de correo no es válida.")),
        ("you must provide", .init("La dirección de correo no es válida.", "The email address is not valid.")),
        ("A user with that email does not exist", .init("No hay ninguna cuenta con esa dirección.")),
        ("bad or missing username", .init("Falta el nombre de usuario.", "The user name is missing.")),
        ("username/email is required", .init("Falta el nombre de usuario.", "The user name is missing.")),
        ("password is required", .init("Falta la contraseña.", "The password is missing.")),
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
        ("Permission denied", .init("No se permite.", "That is not allowed.")),
        ("This user is not allowed", .init("No se permite.", "That is not allowed.")),
        ("A duplicate value", .init("Ya existe.", "It is there already.")),
        ("schema mismatch", .init("Hay un valor que no es válido.", "A value is not valid.")),
        ("Validation failed", .init("Hay un valor que no es válido.")),
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
        ("The request was given up", .init("Ha tardado demasiado. Prueba otra vez.", "It took too long. Try again.")),
        (
            "The schema has just changed",
            .init("El foro acaba de cambiar. Prueba otra vez.", "The forum has just changed. Try again.")
        ),
        (
            "There is no mail without",
            .init(
                "Este foro no manda correos: escribe a quien lo lleva.",
                "This forum sends no mail: write to who runs it.")
        ),
        ("Cloud code failed", .init("Algo ha fallado en el foro.", "Something failed in the forum.")),
        ("Invalid function", .init("Algo ha fallado en el foro.", "Something failed in the forum.")),
    ]
}
