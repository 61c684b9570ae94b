/** `npm run docs` shows the site of the docs while they are written, and `npm run docs:build` builds it into `site/dist`. */
import { join } from 'node:path'
import { installFolder } from './install-folder.ts'
import { root, runTool } from './run-tool.ts'

const site = join(root, 'site')
installFolder(site)
process.exitCode = await runTool(
  'npm',
  'run',
  '--prefix',
  site,
  process.argv[2] === 'build' ? 'build' : 'dev',
)
