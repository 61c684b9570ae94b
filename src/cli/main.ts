#!/usr/bin/env node
// Nothing is imported before it is known to be needed: the command line must start fast, and on a Node that is
// too old it must still be able to say so.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `holdfast: this is Node ${process.versions.node}; install Node 22.13 or newer and run holdfast with that\n`,
  )
  process.exit(70)
}
const { enableCompileCache } = await import('node:module')
enableCompileCache()
const { runCommandLine } = await import('./command-line.ts')
// Clients of servers that do not answer would keep the process alive.
process.exit(await runCommandLine(process.argv.slice(2)))
