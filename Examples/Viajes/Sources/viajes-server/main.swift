import Viajes

try await viajes().run()
