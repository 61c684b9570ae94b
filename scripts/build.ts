import { cpSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool } from './run-tool.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
process.exitCode =
  (await runTool('tsc', '-p', 'tsconfig.build.json')) ||
  (await runTool('vite', 'build', '--config', 'web/vite.config.ts', '--logLevel', 'warn'))
for (const sheet of globSync('**/*.css', { cwd: join(root, 'src') }))
  cpSync(join(root, 'src', sheet), join(root, 'dist', sheet))
