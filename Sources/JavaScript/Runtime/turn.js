// What is known of the turn that runs: the call that it belongs to, 0 for none. The host runs the reactions of the
// promises that a turn settles before it begins another, so this holds for them too.
(function (internal, module) {
  module.exports = { owner: 0 };
})
