import Hermes

// What `scripts/bench --hooks` measures: Hermes with compiled hooks on one class that do nothing but be called.

let app = Hermes()
app.beforeSave("ConSwift") { _ in }
app.afterSave("ConSwift") { _ in }
try await app.run()
