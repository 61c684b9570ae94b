import { checkWorld } from './check-world.ts'

checkWorld('jobs')
checkWorld('sync')
checkWorld('autosave')
