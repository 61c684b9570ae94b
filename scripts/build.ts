import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool } from './run-tool.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
process.exitCode = await runTool('tsc', '-p', 'tsconfig.build.json')
