eins zwei
zwei eins drei
drei
zwei drei eins
