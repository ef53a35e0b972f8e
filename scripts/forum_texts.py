"""What people write in a travel forum, in Spanish and English: made from the lists and patterns below by number."""
import random

MASK = 0xFFFFFFFFFFFFFFFF


def mix(seed, kind, number):
    """64 bits that follow from the three numbers (splitmix64)."""
    x = (seed * 0x9E3779B97F4A7C15 + kind * 0xD1B54A32D192ED03 + number * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


FIRST = "Lucía Marcos Elena Javier Carmen Pablo Irene Diego Nuria Sergio Alba Hugo Marta Óscar Inés Raúl Clara Iván Sofía Andrés Emma Oliver Grace Jack Alice Harry Ruth Tom Nora Ben".split()
LAST = "Peña García Romero Vidal Castro Núñez Ortega Ibáñez Molina Serrano Blanco Prieto Campos Vega Fuentes Lozano Walker Hughes Turner Wood Bennett Clarke Murphy Reid Shaw Palmer".split()
PLAIN = str.maketrans("áéíóúñÁÉÍÓÚÑ", "aeiounAEIOUN")

WORDS = {
    "es": {
        "place": "Granada|Lisboa|el Camino de Santiago|los Picos de Europa|Menorca|la Alpujarra|Oporto|Cádiz|el valle del Jerte|Marrakech|los Pirineos|Ronda|la Costa da Morte|Cuenca|Atenas|las Azores|Salamanca|el desierto de Tabernas|Roma|Teruel".split("|"),
        "way": "en tren|en bici|a pie|en autobús|en furgoneta|con niños|con un perro|en invierno|sin coche|con poco dinero|en tres días|en una semana|en moto|con mis padres".split("|"),
        "thing": "un albergue barato|un buen sitio para comer|una ruta tranquila|billetes de tren|un mapa que funcione sin cobertura|un sitio donde dejar las maletas|una playa sin gente|un guía que hable claro|alojamiento con cocina|un taller de bicis|entradas sin hacer cola|un mirador para ver el atardecer".split("|"),
        "when": "en abril|en agosto|a finales de mayo|en Semana Santa|el puente de octubre|en enero|este verano|la semana que viene|en las fiestas|fuera de temporada".split("|"),
        "opinion": "precioso|carísimo|una maravilla|demasiado lleno|muy recomendable|una decepción|mejor de lo que esperaba|tranquilo y limpio|difícil de encontrar|perfecto para ir sin prisa".split("|"),
        "advice": "reservad con tiempo|llevad agua de sobra|no os fiéis del GPS|id temprano|preguntad en el bar de la plaza|llevad calzado bueno|pagad en efectivo|mirad antes el tiempo|evitad el domingo|comprad el billete en la estación".split("|"),
        "greeting": "Hola a todos|Buenas|Gracias por el hilo|Muy de acuerdo|Justo estuve allí|Depende|Yo no lo haría|Totalmente|Ojo con esto|Apunto la idea".split("|"),
        "sentence": ["Fuimos a {place} {when} y nos pareció {opinion}.", "Si vais {way}, {advice}.", "¿Alguien conoce {thing} cerca de {place}?", "{greeting}: {advice}, sobre todo {when}.", "Nosotros lo hicimos {way} y fue {opinion}.", "Para {thing} preguntad en {place}, que está {opinion}.", "Volvería a {place} sin pensarlo, pero {when} no.", "Ida y vuelta nos costó {number} euros {way}.", "Son unos {number} kilómetros, {way} se hace bien.", "{greeting}. Encontramos {thing} por {number} euros la noche."],
        "title": ["{place} {way}: ¿merece la pena?", "¿Dónde encontrar {thing} en {place}?", "{number} días por {place} {when}", "Consejos para {place} {way}", "Busco compañía para {place} {when}", "{place} {when}: ¿qué tiempo hace?", "Lo que aprendí en {place} {way}"],
        "tag": "rutas|comida|alojamiento|transporte|familia|bici|montaña|playa|presupuesto|compañía".split("|"),
    },
    "en": {
        "place": "Granada|Lisbon|the Camino de Santiago|the Lake District|Menorca|the Scottish Highlands|Porto|Cornwall|the Peak District|Marrakesh|the Pyrenees|Ronda|Dublin|Snowdonia|Athens|the Azores|Edinburgh|the Amalfi Coast|Rome|York".split("|"),
        "way": "by train|by bike|on foot|by bus|in a camper van|with kids|with a dog|in winter|without a car|on a budget|in three days|in a week|by motorbike|with my parents".split("|"),
        "thing": "a cheap hostel|a good place to eat|a quiet trail|train tickets|a map that works offline|somewhere to leave our bags|a beach without crowds|a guide who speaks plainly|a flat with a kitchen|a bike workshop|tickets without the queue|a viewpoint for the sunset".split("|"),
        "when": "in April|in August|in late May|over Easter|in October|in January|this summer|next week|during the festival|off season".split("|"),
        "opinion": "lovely|far too expensive|a delight|too crowded|well worth it|a letdown|better than we expected|quiet and clean|hard to find|perfect for taking it slowly".split("|"),
        "advice": "book well ahead|carry plenty of water|don't trust the GPS|go early|ask at the pub on the square|wear good shoes|bring cash|check the forecast first|avoid Sundays|buy the ticket at the station".split("|"),
        "greeting": "Hi all|Morning|Thanks for the thread|I quite agree|I was just there|It depends|I wouldn't|Absolutely|Careful with this one|Noted".split("|"),
        "sentence": ["We went to {place} {when} and found it {opinion}.", "If you go {way}, {advice}.", "Does anybody know {thing} near {place}?", "{greeting}: {advice}, above all {when}.", "We did it {way} and it was {opinion}.", "For {thing}, ask in {place}; it is {opinion}.", "I would go back to {place} any day, but not {when}.", "There and back was {number} pounds {way}.", "It is about {number} miles, fine {way}.", "{greeting}. We found {thing} for {number} pounds a night."],
        "title": ["{place} {way}: is it worth it?", "Where to find {thing} in {place}?", "{number} days around {place} {when}", "Advice for {place} {way}", "Looking for company to {place} {when}", "{place} {when}: how is the weather?", "What I learnt in {place} {way}"],
        "tag": "trails|food|lodging|transport|family|cycling|mountains|beach|budget|company".split("|"),
    },
}


class Texts:
    """Sentences and titles are made once, a few thousand in each language; a number picks and joins them."""

    def __init__(self, seed):
        choose = random.Random(seed)
        self.sentences = {language: [self.make(choose, words, "sentence") for _ in range(6000)] for language, words in WORDS.items()}
        self.titles = {language: [self.make(choose, words, "title") for _ in range(3000)] for language, words in WORDS.items()}

    @staticmethod
    def make(choose, words, pattern):
        fields = {name: choose.choice(words[name]) for name in ("place", "way", "thing", "when", "opinion", "advice", "greeting")}
        text = choose.choice(words[pattern]).format(**fields, number=choose.randint(2, 90))
        # The first letter, which may stand after an opening mark.
        start = 1 if text[0] in "¿¡" else 0
        return text[:start] + text[start].upper() + text[start + 1:]

    @staticmethod
    def language(draw):
        return "es" if draw % 5 < 3 else "en"

    def person(self, number):
        draw = mix(0, 4, number)
        first, last = FIRST[draw % len(FIRST)], LAST[(draw >> 16) % len(LAST)]
        return f"{first} {last}", f"{first}.{last}".translate(PLAIN).lower()

    def comment(self, draw):
        sentences = self.sentences[self.language(draw)]
        chosen = [sentences[(draw >> 8) % 6000]]
        for shift in (21, 34, 47)[:draw >> 3 & 3]:
            chosen.append(sentences[(draw >> shift) % 6000])
        return " ".join(chosen)

    def topic(self, draw):
        language = self.language(draw)
        sentences, tags = self.sentences[language], WORDS[language]["tag"]
        text = " ".join(sentences[mix(draw, 5, place) % 6000] for place in range(2 + draw % 4))
        chosen = sorted({tags[(draw >> shift) % 10] for shift in (5, 15, 25)[:1 + draw % 3]})
        return self.titles[language][(draw >> 9) % 3000], text, language, chosen
