print("hermes")
