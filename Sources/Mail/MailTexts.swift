/// The server's own words.
enum MailTexts {
    static let all: [String: [MailTemplate: String]] = ["en": english, "es": spanish]

    private static let english: [MailTemplate: String] = [
        .verifyEmail: """
        Subject: Confirm your address for {{appName}}

        Hello!

        Somebody, most likely you, gave the address {{email}} at {{appName}}. To confirm that it is yours, open this link:

        {{link}}

        If it was not you, there is nothing to do: without the link the address stays unconfirmed.
        """,
        .passwordReset: """
        Subject: A new password for {{appName}}

        Hello!

        Somebody, most likely you, asked for a new password for the account at {{appName}} with the address {{email}}. To choose one, open this link:

        {{link}}

        If it was not you, there is nothing to do: your password stays as it is. Never pass this link on to anybody.
        """,
        .invitation: """
        Subject: {{name}} invites you to {{appName}}

        Hello!

        {{name}} invites you to {{appName}}. To have a look and to accept, open this link:

        {{link}}

        If you would rather not, there is nothing to do: no account has been made for you.
        """,
        .logInLink: """
        Subject: Your link to log in to {{appName}}

        Hello!

        With this link you log in to {{appName}}, once and without a password:

        {{link}}

        If you did not ask for it, there is nothing to do. Never pass this link on to anybody: whoever has it can enter in your name.
        """,
        .accountExists: """
        Subject: You already have an account at {{appName}}

        Hello!

        Somebody, most likely you, tried to sign up at {{appName}} with the address {{email}}, which has an account already. Here you log in, or choose a new password:

        {{link}}

        If it was not you, there is nothing to do: nothing has changed.
        """,
    ]

    private static let spanish: [MailTemplate: String] = [
        .verifyEmail: """
        Subject: Confirma tu dirección para {{appName}}

        ¡Hola!

        Alguien, seguramente tú, ha dado la dirección {{email}} en {{appName}}. Para confirmar que es tuya, abre este enlace:

        {{link}}

        Si no has sido tú, no hace falta que hagas nada: sin el enlace, la dirección queda sin confirmar.
        """,
        .passwordReset: """
        Subject: Una contraseña nueva para {{appName}}

        ¡Hola!

        Alguien, seguramente tú, ha pedido una contraseña nueva para la cuenta de {{appName}} con la dirección {{email}}. Para elegirla, abre este enlace:

        {{link}}

        Si no has sido tú, no hace falta que hagas nada: tu contraseña sigue siendo la misma. No le pases este enlace a nadie.
        """,
        .invitation: """
        Subject: {{name}} te invita a {{appName}}

        ¡Hola!

        {{name}} te invita a {{appName}}. Para echar un vistazo y aceptar, abre este enlace:

        {{link}}

        Si no te interesa, no hace falta que hagas nada: no se te ha abierto ninguna cuenta.
        """,
        .logInLink: """
        Subject: Tu enlace para entrar en {{appName}}

        ¡Hola!

        Con este enlace entras en {{appName}}, una sola vez y sin contraseña:

        {{link}}

        Si no lo has pedido tú, no hace falta que hagas nada. No le pases este enlace a nadie: quien lo tenga puede entrar en tu nombre.
        """,
        .accountExists: """
        Subject: Ya tienes una cuenta en {{appName}}

        ¡Hola!

        Alguien, seguramente tú, ha intentado registrarse en {{appName}} con la dirección {{email}}, que ya tiene una cuenta. Aquí puedes entrar o elegir una contraseña nueva:

        {{link}}

        Si no has sido tú, no hace falta que hagas nada: no ha cambiado nada.
        """,
    ]
}
