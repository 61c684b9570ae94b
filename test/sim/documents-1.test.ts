import { checkWorld } from './check-world.ts'

checkWorld('documents', { first: 1, step: 2 })
