import Server
print(OptionTable.markdown, terminator: "")
