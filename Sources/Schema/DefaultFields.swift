import Wire

/// The fields that Parse gives to every class, and to the server's own ones.
public enum DefaultFields {
    public static let everywhere: [String: FieldType] = [
        "objectId": .string, "createdAt": .date, "updatedAt": .date, "ACL": .acl,
    ]

    static let byClass: [String: [String: FieldType]] = [
        "_User": [
            "username": .string, "password": .string, "email": .string, "emailVerified": .boolean,
            "authData": .object,
        ],
        "_Installation": [
            "installationId": .string, "deviceToken": .string, "channels": .array, "deviceType": .string,
            "pushType": .string, "GCMSenderId": .string, "timeZone": .string, "localeIdentifier": .string,
            "appVersion": .string, "appName": .string, "appIdentifier": .string, "parseVersion": .string,
            "badge": .number,
        ],
        "_Role": [
            "name": .string, "users": .relation("_User"), "roles": .relation("_Role"),
        ],
        "_Session": [
            "user": .pointer("_User"), "installationId": .string, "sessionToken": .string,
            "expiresAt": .date, "createdWith": .object,
        ],
    ]

    /// Columns of `_User` that only the maintenance key sees; those of passwords nobody does.
    public static let hiddenUserFields: [(name: String, type: FieldType)] = [
        ("_account_lockout_expires_at", .date), ("_email_verify_token", .string),
        ("_email_verify_token_expires_at", .date), ("_failed_login_count", .number), ("_perishable_token", .string),
        ("_perishable_token_expires_at", .date),
    ]

    /// The default fields of a class.
    public static func of(_ className: String) -> [String: FieldType] {
        everywhere.merging(byClass[className] ?? [:]) { one, _ in one }
    }

    /// The server's classes that clients may reach through /classes, as far as permissions go.
    public static let openSystemClasses: Set<String> = ["_User", "_Installation", "_Role", "_Session", "_Product"]

    /// Names of the protocol's that stand for tables of the server's own, in which there are no objects.
    public static let serverTables: Set<String> = ["_Idempotency", "_Hooks", "_GlobalConfig"]

    /// Those that only the master or the maintenance key may reach.
    public static let closedSystemClasses: Set<String> = [
        "_JobStatus", "_PushStatus", "_Hooks", "_GlobalConfig", "_GraphQLConfig", "_JobSchedule", "_Idempotency",
        "_Audience",
    ]
}
