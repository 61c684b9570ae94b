#!/usr/bin/env node
// There are no static imports: the command line must start fast, and a Node that is too old must get as far as the
// message below.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `holdfast: expected Node 22.13 or newer, got ${process.versions.node}; install a newer Node and run holdfast with it\n`,
  )
  process.exit(70)
}
const { enableCompileCache } = await import('node:module')
enableCompileCache()
const { runCommandLine } = await import('./command-line.ts')
const code = await runCommandLine(process.argv.slice(2))
// An error of the last line, such as a full disk, comes after it: the listener of the terminal exits then.
await new Promise((resolve) => process.stdout.write('', resolve))
// Without this call, a client whose server does not answer would keep the process alive.
process.exit(code)
