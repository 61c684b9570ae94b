import { checkWorld } from './check-world.ts'

checkWorld('product')
