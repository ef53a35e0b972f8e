// Node's os: what code asks for names and line ends. Nothing of the machine's load or its users.
(function (internal, module, host) {
  'use strict';
  const tmp = () => process.env.TMPDIR || '/tmp';
  module.exports = {
    EOL: '\n', devNull: '/dev/null',
    arch: () => process.arch, platform: () => process.platform, type: () => 'Linux', release: () => '', version: () => '', machine: () => 'x86_64',
    endianness: () => 'LE', hostname: () => host.hostName(), homedir: () => process.env.HOME || '/', tmpdir: tmp,
    uptime: () => host.now() / 1000, loadavg: () => [0, 0, 0], totalmem: () => 0, freemem: () => 0, cpus: () => [], availableParallelism: () => 1,
    networkInterfaces: () => ({}), userInfo: () => ({ username: process.env.USER || '', uid: -1, gid: -1, shell: null, homedir: process.env.HOME || '/' }),
    constants: { signals: {}, errno: {} },
  };
})
