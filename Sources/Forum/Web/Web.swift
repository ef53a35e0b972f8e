import Hermes

extension Hermes {
    /// The forum for browsers: pages that the server writes whole, and that work without a script.
    func web() {
        sessionCookie(Visit.sessionCookie)
        accountPages(logIn: "/entrar", recovery: "/recuperar")
        _ = WebFiles(self)
        failedPages()
        topicViews()
        topicView()
        accountViews()
        writingViews()
        editViews()
        peopleViews()
        ownAccountViews()
        chatViews()
    }
}
